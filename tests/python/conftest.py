"""What all tests of the package share."""

import signal

# Ctrl-C, which some tests send to themselves, is ignored where a shell started them in its background.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    """Warnings that PyTorch's own code of testing and tracing gives rise to."""
    config.addinivalue_line("filterwarnings", r"ignore:.torch\.jit\.script. is not supported:FutureWarning:torch")
    config.addinivalue_line("filterwarnings", r"ignore:.torch\.jit\.script. is deprecated:DeprecationWarning:torch")
    config.addinivalue_line("filterwarnings", r"ignore:The \.grad attribute of a Tensor that is not a leaf:UserWarning:torch\._subclasses")
