# tessera_stand_ins(<target>): what LibTorch names and does not use need not be loaded for this target.
#
# LibTorch's own libraries are looked for first where DT_RPATH says, of the one that loads it, and only there: so
# the old kind of run path. stand-ins.sh fills the folder when the program is built.
function(tessera_stand_ins target)
  target_link_options(${target} PRIVATE LINKER:--disable-new-dtags)
  set_target_properties(${target} PROPERTIES BUILD_RPATH "$ORIGIN/stand-ins" INSTALL_RPATH "$ORIGIN/stand-ins")
endfunction()
