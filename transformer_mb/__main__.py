"""``python -m transformer_mb``: the command line where no script is installed."""

import sys

from .cli.main import main

sys.exit(main())
