# tessera_stand_ins(<target>): what LibTorch names and does not use need not be loaded for this target.
#
# What LibTorch names is looked for by the DT_RPATH of what loads LibTorch, but not by a DT_RUNPATH: so the older
# kind of run path. stand-ins.sh fills the folder when the program is built.
function(tessera_stand_ins target)
  target_link_options(${target} PRIVATE LINKER:--disable-new-dtags)
  set_target_properties(${target} PROPERTIES BUILD_RPATH "$ORIGIN/stand-ins" INSTALL_RPATH "$ORIGIN/stand-ins")
endfunction()
