"""A source folder of 10,000 files and 120 MB, half of them compressible."""

import os
import random
import shutil

from .bench import BUILD

FILES, FOLDERS, SIZE = 10_000, 100, 12_000
WORDS = ["loss", "model", "epoch", "layer", "gradient", "batch", "train", "tensor", "return", "import", "value", "shape"]


def make(folder):
    """Makes the folder from a copy that is kept; always the same content."""
    kept = os.path.join(BUILD, "data", "tree")
    if not os.path.exists(kept):
        random_source = random.Random(7)
        partial = kept + ".partial"
        shutil.rmtree(partial, ignore_errors=True)
        for number in range(FILES):
            where = os.path.join(partial, f"part{number % FOLDERS:02}")
            if number < FOLDERS:
                os.makedirs(where)
            size = random_source.randint(SIZE // 2, SIZE * 3 // 2)
            if number % 2:
                content = random_source.randbytes(size)
            else:
                text = []
                while len(text) * 6 < size:
                    text.append(random_source.choice(WORDS) + str(random_source.randint(0, 99)))
                content = " ".join(text).encode()[:size]
            with open(os.path.join(where, f"file{number:05}.{'bin' if number % 2 else 'py'}"), "wb") as file:
                file.write(content)
        os.rename(partial, kept)
    shutil.copytree(kept, folder)
    return folder
