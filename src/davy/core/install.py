"""What to type to install a part of Davy.

Until our names are registered on the package index, anybody could take them. So advice names this repository:
commands are for Davy's own folder. `ON_THE_INDEX` is switched at the first release, here alone.
"""

ON_THE_INDEX = False


def install_extra(*extras: str) -> str:
    """Return the command that installs Davy with these extras."""
    listed = ",".join(extras)
    return f"pip install 'davy[{listed}]'" if ON_THE_INDEX else f"pip install '.[{listed}]'"


def install_package(name: str) -> str:
    """Return the command that installs one of Davy's packages of weights, such as `davy-large`."""
    return f"pip install {name}" if ON_THE_INDEX else f"pip install ./packages/{name}"


def update_davy() -> str:
    """Return the command that brings Davy up to date."""
    return "pip install --upgrade davy" if ON_THE_INDEX else "git pull && pip install ."
