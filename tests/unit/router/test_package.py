"""The package as people meet it."""

import importlib.metadata
import inspect

import dynamo_regime
from dynamo_regime import RegimeError


def test_the_version_is_that_of_the_installed_distribution() -> None:
    assert dynamo_regime.__version__ == importlib.metadata.version("dynamo-regime")


def test_every_error_has_one_root_and_also_the_builtin_class_that_people_catch() -> None:
    for error, builtin in (
        (dynamo_regime.PolicyError, ValueError),
        (dynamo_regime.InputError, ValueError),
        (dynamo_regime.UnknownPoolError, LookupError),
    ):
        assert issubclass(error, RegimeError)
        assert issubclass(error, builtin)


def test_every_public_class_and_method_explains_itself_in_help() -> None:
    for name in dynamo_regime.__all__:
        value = getattr(dynamo_regime, name)
        if inspect.isclass(value):
            assert value.__doc__
            assert not value.__doc__.startswith(f"{name}(")  # what a dataclass says by itself
            methods = inspect.getmembers(value, inspect.isroutine)
            own = [method for name, method in methods if not name.startswith("_")]
            assert all(method.__doc__ for method in own)
