"""The deceptive maze by its literal rules, one robot and one pixel at a time, without a table.

Slow and plain on purpose: the oracle that the tests hold `brns.tasks.maze` against.
The rules stand in docs/method.rst.
"""

import math

import numba
import numpy as np

PIXEL, RANGE, AXLE = 3.0, 100.0, 20.0


@numba.njit(cache=True)
def pixel(coordinate):
    """The pixel of a coordinate, rounding half away from zero."""
    return int(math.copysign(math.floor(abs(coordinate) / PIXEL + 0.5), coordinate))


@numba.njit(cache=True)
def wrap(angle):
    """An angle as its equal in (-pi, pi]."""
    while angle > math.pi:
        angle -= 2 * math.pi
    while angle <= -math.pi:
        angle += 2 * math.pi
    return angle


@numba.njit(cache=True)
def wall(bitmap, i, j):
    """Whether pixel (i, j) is an obstacle, True in `bitmap[j, i]`; outside the map all are."""
    size = bitmap.shape[0]
    return i < 0 or j < 0 or i >= size or j >= size or bitmap[j, i]


@numba.njit(cache=True)
def collision(bitmap, x, y, heading):
    """Whether a robot collides there, and its left and right bumpers."""
    center_i, center_j = pixel(x), pixel(y)
    collides = left = right = False
    for dj in range(-3, 4):
        for di in range(-3, 4):
            if di * di + dj * dj <= 9 and wall(bitmap, center_i + di, center_j + dj):
                collides = True
                angle = wrap(math.atan2(dj, di) - heading)
                right = right or 0 < angle < math.pi / 2
                left = left or -math.pi / 2 < angle < 0
    return collides, left, right


@numba.njit(cache=True)
def laser(bitmap, x, y, direction):
    """Distance to the first obstacle on a line of pixels: Bresenham's, supercover (Dedu 2001)."""
    i, j = pixel(x), pixel(y)
    di = pixel(x + RANGE * math.cos(direction)) - i
    dj = pixel(y + RANGE * math.sin(direction)) - j
    step_i, step_j = (1 if di > 0 else -1), (1 if dj > 0 else -1)
    di, dj = abs(di), abs(dj)
    hit = wall(bitmap, i, j)
    along = max(di, dj)
    error = before = along
    for _ in range(along):
        if di >= dj:
            i += step_i
            error += 2 * dj
        else:
            j += step_j
            error += 2 * di
        if error > 2 * along:
            error -= 2 * along
            if di >= dj:
                j += step_j
                early, late = wall(bitmap, i, j - step_j), wall(bitmap, i - step_i, j)
            else:
                i += step_i
                early, late = wall(bitmap, i - step_i, j), wall(bitmap, i, j - step_j)
            hit = (
                hit
                or (early and error + before <= 2 * along)
                or (late and error + before >= 2 * along)
            )
        hit = hit or wall(bitmap, i, j)
        if hit:
            return min(math.hypot(i * PIXEL - x, j * PIXEL - y), RANGE)
        before = error
    return RANGE


@numba.njit(cache=True)
def step(bitmap, pose, action, next_pose, observation):
    """A step: writes `next_pose` (x, y, heading) and `observation` (3 lasers, 2 bumpers)."""
    v1, v2 = min(max(action[0], -4.0), 4.0), min(max(action[1], -4.0), 4.0)
    x, y, heading = pose
    turn = (v2 - v1) / AXLE
    forward, sideways = v1, 0.0
    if abs(turn) > 1e-10:
        radius = v1 / turn + AXLE / 2
        forward, sideways = radius * math.sin(turn), radius * (math.cos(turn) - 1)
    new_x = x + forward * math.cos(heading) + sideways * math.sin(heading)
    new_y = y + forward * math.sin(heading) - sideways * math.cos(heading)
    heading = wrap(heading + turn)
    collides, left, right = collision(bitmap, new_x, new_y, heading)
    if not collides:
        x, y = new_x, new_y
    next_pose[0], next_pose[1], next_pose[2] = x, y, heading
    for k in range(3):
        observation[k] = laser(bitmap, x, y, heading + (1 - k) * math.pi / 4)
    observation[3], observation[4] = left, right


@numba.njit(cache=True)
def steps(bitmap, poses, actions):
    """Next poses `(n, 3)` and observations `(n, 5)` of poses `(n, 3)` and actions `(n, 2)`."""
    next_poses, observations = np.empty_like(poses), np.empty((len(poses), 5), np.float32)
    for n in range(len(poses)):
        step(bitmap, poses[n], actions[n], next_poses[n], observations[n])
    return next_poses, observations
