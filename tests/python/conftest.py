"""What all tests of the package share."""

import signal

# Ctrl-C, which some tests send to themselves, is ignored where a shell started them in its background.
signal.signal(signal.SIGINT, signal.default_int_handler)
