// Compiled with nothing but the precompiled headers.
