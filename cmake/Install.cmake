# Installation: filled in below.
