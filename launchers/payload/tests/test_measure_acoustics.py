"""Each measure on sounds whose value is known."""

from __future__ import annotations

import hashlib
import io
import wave
from pathlib import Path

import numpy
import pytest
from support.sounds import glide

from understudy_payload.acoustics import UNITS, Value, measures, silent_share, spoken_characters
from understudy_payload.answer_audio import audio_name, quantise, read_wav, write_wav
from understudy_payload.pitch import f0_spread, voiced_f0
from understudy_payload.resample import resample

RATE = 24_000
JUDGED = {
    "instruction_adherence", "speech_fluency", "conversational_coherence", "speech_naturalness",
    "prosodic_consistency", "emotion_appropriateness", "personality_consistency", "knowledge_consistency",
}  # fmt: skip


def tone(hertz: float, seconds: float, level: float = 0.5, rate: int = RATE) -> numpy.ndarray:
    return level * numpy.sin(2 * numpy.pi * hertz * numpy.arange(round(seconds * rate)) / rate)


def measured(samples: numpy.ndarray, text: str = "Ahoy") -> dict[str, Value]:
    return measures(quantise(samples), text, None)


def test_no_measure_has_the_name_of_a_judged_metric() -> None:
    assert not JUDGED & UNITS.keys()


def test_duration_and_pace() -> None:
    found = measured(tone(200, 1.5), "Ahoy, 2 ships! 你好。")
    assert found["duration"] == Value(1.5)
    assert found["characters_per_second"] == Value(round(12 / 1.5, 6))
    assert measured(tone(200, 1.5), "...!")["characters_per_second"] == Value(None, "no_text")


def test_only_letters_and_digits_are_spoken() -> None:
    assert spoken_characters("Arr, 7 seas!") == 8
    assert spoken_characters("阿弥陀佛，月在正午。") == 8
    assert spoken_characters(" \n—…") == 0


def test_silence_is_counted_in_frames() -> None:
    half = numpy.concatenate([tone(200, 0.5), numpy.zeros(RATE // 2)])
    assert measured(half)["silence_share"] == Value(0.5)
    assert measured(tone(200, 1))["silence_share"] == Value(0)
    assert measured(numpy.zeros(RATE))["silence_share"] == Value(1)
    # 46 dB below the loudest part is a pause, though it would be above the absolute limit
    faint = numpy.concatenate([tone(200, 0.5, 0.9), tone(200, 0.5, 0.9 / 200)])
    assert silent_share(quantise(faint)) == 0.5
    assert silent_share(quantise(tone(200, 0.01))) == 0


def test_clipping_is_counted_in_samples() -> None:
    samples = numpy.zeros(1_000)
    samples[:30], samples[30:50], samples[50:] = 1.5, -1.5, 0.99
    assert measured(samples)["clipped_share"] == Value(0.05)
    assert measured(tone(200, 1, 0.999))["clipped_share"] == Value(0)


@pytest.mark.parametrize(("low", "high"), [(100, 100), (120, 240), (200, 220), (300, 450), (90, 180)])
def test_spread_of_a_glide(low: float, high: float) -> None:
    found = measured(glide(low, high, 2.0, RATE))["f0_spread"].value
    # four fifths of the glide lie between the percentiles; frames do not reach its very ends
    assert found == pytest.approx(0.8 * 12 * numpy.log2(high / low), rel=0.03, abs=0.02)


@pytest.mark.parametrize("hertz", [80, 147, 261.6, 440, 590])
def test_pitch_of_a_tone(hertz: float) -> None:
    found = voiced_f0(glide(hertz, hertz, 0.5, 16_000), 16_000)
    assert len(found) > 40
    assert found == pytest.approx(hertz, rel=2e-3)


def test_octave_errors_of_a_few_frames_do_not_show() -> None:
    f0 = numpy.full(100, 150.0)
    f0[:5], f0[5:10] = 75, 300
    assert f0_spread(f0) == pytest.approx(0, abs=1e-9)


def test_what_has_no_voice_has_no_spread() -> None:
    noise = numpy.random.default_rng(0).standard_normal(RATE) * 0.1
    for samples in (noise, numpy.zeros(RATE), tone(200, 0.03), glide(150, 150, 0.1, RATE)):
        assert measured(samples)["f0_spread"] == Value(None, "unvoiced")


def test_opinions_need_enough_sound_and_the_network() -> None:
    class Stub:
        def __call__(self, clip: numpy.ndarray) -> dict[str, float]:
            assert clip.dtype == numpy.float32 and len(clip) == 16_000
            return {"sig": 3.25, "bak": 4.0, "ovrl": 2.123456789}

    def opinions(samples: numpy.ndarray, network: Stub | None) -> set[Value]:
        found = measures(quantise(samples), "a", network)
        return {found[f"dnsmos_{name}"] for name in ("sig", "bak", "ovrl")}

    assert opinions(tone(200, 1), Stub()) == {Value(3.25), Value(4.0), Value(2.123457)}
    assert opinions(tone(200, 0.2), Stub()) == {Value(None, "too_short")}
    assert opinions(numpy.zeros(RATE), Stub()) == {Value(None, "silent")}
    assert opinions(tone(200, 1), None) == {Value(None, "unavailable")}


def test_an_empty_file_has_no_measures() -> None:
    assert set(measured(numpy.zeros(0)).values()) == {Value(None, "empty_audio")}


def test_resampling_keeps_what_fits_and_removes_the_rest() -> None:
    for hertz in (100, 1_000, 5_000, 7_000):
        found = resample(tone(hertz, 1), RATE, 16_000)
        assert len(found) == 16_000
        assert found[500:-500] == pytest.approx(tone(hertz, 1, rate=16_000)[500:-500], abs=5e-4)
    for hertz in (8_500, 9_000, 11_500):
        assert numpy.abs(resample(tone(hertz, 1), RATE, 16_000)[500:-500]).max() < 1e-4
    assert len(resample(numpy.zeros(0), RATE, 16_000)) == 0
    assert [len(resample(numpy.zeros(count), RATE, 16_000)) for count in (1, 2, 3, 4, 480)] == [1, 2, 2, 3, 320]


def test_files_have_the_canonical_header(tmp_path: Path) -> None:
    samples = quantise(numpy.array([0, 0.5, -1, 1, 2, -2]))
    assert samples.tolist() == [0, 16_384, -32_768, 32_767, 32_767, -32_768]
    digest = write_wav(tmp_path / "deep" / "a.wav", samples, lambda: None)
    data = (tmp_path / "deep" / "a.wav").read_bytes()
    assert hashlib.sha256(data).hexdigest() == digest and len(data) == 44 + 12
    with wave.open(io.BytesIO(data)) as file:
        assert (file.getnframes(), file.getframerate()) == (6, RATE)
    assert (read_wav(data) == samples).all()
    for broken in (b"", data[:43], data[:-2], data + b"\0\0", data.replace(b"WAVE", b"WAVX")):
        with pytest.raises(ValueError):
            read_wav(broken)


def test_names_stay_within_the_folder() -> None:
    assert audio_name("pirate-001", 0) == "audio/pirate-001-0.wav"
    assert audio_name("../a/b", 2) == "audio/..%2Fa%2Fb-2.wav"
