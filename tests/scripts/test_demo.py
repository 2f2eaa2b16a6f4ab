"""demo.py as a user runs it."""

import json
import re
import signal
import subprocess
import sys
import urllib.request

import pytest
from run_script import SCRIPTS, run_script
from translating import shared_translate


@pytest.mark.slow
def test_it_serves_a_run_until_it_is_interrupted(folder):
    script = [sys.executable, SCRIPTS / "demo.py", "run"]
    command = [*script, "--port", "0", "--beam", "3"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().startswith("Loading run; the first translation takes")
        address = re.match(r"(http://127\.0\.0\.1:\d+/) ", process.stdout.readline())[1]
        with urllib.request.urlopen(address, timeout=60) as answer:
            assert b'<p class="quiet">run</p>' in answer.read()
        body, headers = json.dumps({"sentence": "one two"}).encode(), {}
        headers["Content-Type"] = "application/json"
        request = urllib.request.Request(f"{address}translate", body, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)["translations"]
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "\nStopped.\n"
    finally:
        process.kill()
    assert process.returncode == 0
    expected = shared_translate().hypotheses("one two", beam_size=3, n_best=3)[0]
    assert [x["text"] for x in found] == [x.text for x in expected]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere"),
        (["run", "--beam", "2", "--n-best", "3"], "Received: n_best=3, beam_size=2"),
        (["run", "--port", "65536"], "--port: must be an integer from 0 to 65535. Received: 65536"),
        (["run", "--host", "no such host"], "demo.py: error: "),
        (["run", "--port", "many"], "argument --port: invalid int value: 'many'"),
    ],
)
def test_invalid_arguments_are_refused(folder, arguments, message):
    error = run_script("demo.py", *arguments, folder=folder, expected=2)
    last = error.splitlines()[-1]
    assert last.startswith("demo.py: error: ") and message in last
