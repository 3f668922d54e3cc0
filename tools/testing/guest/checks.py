# SPDX-License-Identifier: GPL-2.0
"""What the cases in Python share: checks that end the case, small files, children that are waited for."""
import os
import sys
import time

_CHECKS = 0


def check(what, right):
    """End the case unless `right`."""
    global _CHECKS
    _CHECKS += 1
    if not right:
        sys.exit(f"not so: {what}")


def checks():
    """How many there were."""
    return _CHECKS


def fails(number, call, *args):
    """Does the call fail with this errno?"""
    try:
        call(*args)
    except OSError as error:
        return error.errno == number
    return False


def put(path, text):
    """One write; gives how much was taken."""
    with open(path, "wb", buffering=0) as file:
        return file.write(text)


def child(body):
    """Run `body` in a child, whose exit status is what it gives; gives its pid."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = body() or 0
        finally:
            os._exit(code)
    return pid


def true_in_child(predicate, seconds=15):
    """Does `predicate` hold in a child?"""
    return status(child(lambda: 0 if predicate() else 2), seconds) == 0


def status(pid, seconds=15):
    """Exit status of a child, None while it runs on."""
    end = time.time() + seconds
    while time.time() < end:
        done, result = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(result)
        time.sleep(0.02)
    return None
