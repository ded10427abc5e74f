import json
from pathlib import Path

from testbed import model


def test_every_token_that_the_mocker_invents_is_a_word_of_the_tokenizer(tmp_path: Path) -> None:
    model.write_model(tmp_path)
    vocabulary = json.loads((tmp_path / "tokenizer.json").read_text())["model"]["vocab"]
    assert sorted(vocabulary.values()) == list(range(model.VOCABULARY_SIZE))
    assert all(vocabulary[model.word(token_id)] == token_id for token_id in range(1000, 2001))


def test_a_prompts_words_are_its_tokens(tmp_path: Path) -> None:
    model.write_model(tmp_path)
    vocabulary = json.loads((tmp_path / "tokenizer.json").read_text())["model"]["vocab"]
    token_ids = [2, 1999, 2, model.VOCABULARY_SIZE - 1]
    assert [vocabulary[word] for word in model.text(token_ids).split()] == token_ids


def test_no_file_of_the_model_leads_outside(tmp_path: Path) -> None:
    model.write_model(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "tokenizer.json",
        "tokenizer_config.json",
        "config.json",
        "generation_config.json",
    }
    assert not [path for path in tmp_path.iterdir() if "http" in path.read_text()]
