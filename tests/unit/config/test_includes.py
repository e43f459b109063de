"""Configurations in several files, as OpenClaw reads them, and variables in any value."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_core.config.load import ConfigSource, load_config
from memory_core.errors import ConfigError

HOME = {"HOME": "/home/me"}


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.json5").write_text(text)
    return folder / "host.json5"


def test_an_included_file_stands_for_its_object(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        host='{agents: {$include: "./agents.json5", list: [{id: "kim"}]}}',
        agents='{defaults: {workspace: "/notes", memorySearch: {$include: "search.json5", provider: "none"}}}',
        search='{provider: "static", query: {maxResults: 9}}',
    )
    config = load_config(path, environ=HOME)
    assert config.agent("kim").workspace == Path("/notes")
    assert (config.agent("kim").search.provider, config.agent("kim").search.query.max_results) == ("none", 9)
    assert [each.name for each in config.included] == ["agents.json5", "search.json5", ".env"]


def test_several_files_add_up(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        host='{$include: ["one.json5", "two.json5"]}',
        one='{agents: {list: [{id: "a"}]}, memorySearch: {provider: "static"}}',
        two='{agents: {list: [{id: "b"}]}, memorySearch: {provider: "none"}}',
    )
    config = load_config(path, environ=HOME)
    assert config.agents == ("a", "b")
    assert config.agent("a").search.provider == "none"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"host": '{$include: "host.json5"}'}, "includes itself"),
        ({"host": '{$include: "one.json5"}', "one": '{agents: {$include: "host.json5"}}'}, "includes itself"),
        ({"host": '{$include: "../elsewhere.json5"}'}, "is outside"),
        ({"host": '{$include: "missing.json5"}'}, "does not exist"),
        ({"host": '{agents: {$include: 5}}'}, "expected a path"),
        ({"host": '{$include: "one.json5"}', "one": "{memory: }"}, "line 1, column"),
    ],
)  # fmt: skip
def test_an_inclusion_that_cannot_be_read_is_named(tmp_path: Path, files: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_config(write(tmp_path, **files), environ=HOME)
    assert told in f"{error.value}"


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "host"
    folder.mkdir()
    (tmp_path / "secret.json5").write_text("{}")
    (folder / "one.json5").symlink_to(tmp_path / "secret.json5")
    with pytest.raises(ConfigError, match="is outside"):
        load_config(write(folder, host='{$include: "one.json5"}'), environ=HOME)


def test_a_changed_inclusion_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path, host='{$include: "one.json5"}', one="{memorySearch: {query: {maxResults: 3}}}")
    source = ConfigSource(path, workspace=tmp_path)
    assert source.current().agent("main").search.query.max_results == 3
    write(tmp_path, one="{memorySearch: {query: {maxResults: 14}}}")
    os.utime(tmp_path / "one.json5", (1, 1))
    assert source.current().agent("main").search.query.max_results == 14
    assert source.current() is source.current()


def test_a_changed_file_of_variables_is_read_again(tmp_path: Path) -> None:
    source = ConfigSource(write(tmp_path, host='{memorySearch: {model: "${KIND:-old}"}}'), workspace=tmp_path)
    models = [source.current().agent("main").search.model]
    for line in ("KIND=new", "KIND=newer", ""):
        (tmp_path / ".env").write_text(line)
        models.append(source.current().agent("main").search.model)
    assert models == ["old", "new", "newer", "old"]


def test_variables_are_filled_in_any_value(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        host="""{env: {vars: {ROOT: "/srv"}}, agents: {defaults: {workspace: "${ROOT}/notes"}},
        memorySearch: {extraPaths: ["${ROOT}/more", {path: "${OTHER:-/x}"}], store: {path: "$${ROOT}/i.sqlite"}},
        memory: {backend: "${KIND}"}}""",
    )
    config = load_config(path, environ={**HOME, "KIND": "builtin"}).agent("main")
    assert config.workspace == Path("/srv/notes")
    assert [extra.path for extra in config.search.extra_paths] == ["/srv/more", "/x"]
    assert config.store_path == tmp_path / "${ROOT}/i.sqlite"
    assert config.memory.backend == "builtin"
    assert load_config(path, environ={**HOME, "KIND": "builtin", "ROOT": "/r"}).agent("main").workspace == Path(
        "/r/notes"
    )


@pytest.mark.parametrize("key", ["agents: {defaults: {workspace: '${NO}'}}", "memorySearch: {extraPaths: ['${NO}']}"])
def test_a_variable_that_is_not_set_is_an_error(tmp_path: Path, key: str) -> None:
    with pytest.raises(ConfigError, match="the environment variable NO is not set"):
        load_config(write(tmp_path, host=f"{{{key}}}"), environ=HOME)
