# Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
"""Integral images from Python beside OpenCV's on the CPU.

    pip install opencv-python-headless
    python bench/python_images.py

A line tells the dtypes of the elements and of the sums, the shape, the times of both in microseconds, of a batch that OpenCV has image by image, how many times as
long OpenCV takes, and the speed in GB/s of elements read and sums written. Both write to arrays that are there; times are the second best of up to 50, and the calls
take turns.
"""
import time

import cv2
import numpy as np
import upsweep as us

DEPTHS = {np.int32: cv2.CV_32S, np.float32: cv2.CV_32F, np.float64: cv2.CV_64F}
PAIRS = ((np.uint8, np.int32), (np.uint8, np.float64), (np.float32, np.float32), (np.float32, np.float64), (np.float64, np.float64))
SHAPES = ((100, 100), (480, 640), (1024, 1024), (1080, 1920), (3000, 4001), (4096, 4096), (16384, 16384), (64, 1024, 1024), (1000, 28, 28), (64, 100000))


def second_best(calls, rounds):
    times = [[] for _ in calls]
    for _ in range(rounds):
        for call, of_call in zip(calls, times):
            begin = time.perf_counter()
            call()
            of_call.append(time.perf_counter() - begin)
    return [sorted(of_call)[1] * 1e6 for of_call in times]


def main():
    random = np.random.default_rng()
    for elements, sums in PAIRS:
        for shape in SHAPES:
            x = (255 * random.random(shape, np.float32)).astype(elements)
            if 16 * x.size > 1 << 32:
                continue
            out = np.empty(shape, sums)
            images = x.reshape(-1, *shape[-2:])
            bordered = np.empty((len(images), shape[-2] + 1, shape[-1] + 1), sums)
            depth = DEPTHS[sums]

            def by_opencv():
                for image, to in zip(images, bordered):
                    cv2.integral(image, to, depth)

            ours, theirs = second_best((lambda: us.integral_image(x, dtype=sums, out=out), by_opencv), 50 if x.size < 1 << 23 else 8)
            assert np.allclose(out[..., -1, -1], bordered[..., -1, -1].reshape(shape[:-2]), rtol=1e-3)
            speed = (x.nbytes + out.nbytes) / ours / 1e3
            print(f"{np.dtype(elements).name:8} {np.dtype(sums).name:8} {' x '.join(map(str, shape)):18}  upsweep {ours:9.1f}  opencv {theirs:9.1f}"
                  f"  {theirs / ours:5.2f}  {speed:5.1f} GB/s", flush=True)


if __name__ == "__main__":
    main()
