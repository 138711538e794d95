"""Chooses the generation of the mixer."""


def mixer_generation():
    from speech.mixing.kernels import generation_fits

    chosen = 2 if generation_fits(2) else 1
    if not generation_fits(chosen):
        return None
    return chosen
