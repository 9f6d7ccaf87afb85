"""The reference of the Python package, from its docstrings: scripts/python reference."""

from pathlib import Path

import surety

_page = Path(__file__).with_name("index.rst").read_text().split()
_left_out = [name for name in surety.__all__ if name != "__version__" and f"surety.{name}" not in _page]
assert not _left_out, f"index.rst leaves out {_left_out}"

project = "Surety"
author = "Surety"
version = release = surety.__version__
extensions = ["sphinx.ext.autodoc"]
html_theme = "alabaster"
html_theme_options = {"description": "Differential privacy for programs", "fixed_sidebar": True}
html_show_sphinx = html_show_copyright = html_copy_source = False
# What is not installed here is not needed to read docstrings.
autodoc_mock_imports = ["dp_accounting", "opacus", "prv_accountant", "scipy", "sklearn", "torch"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 100
