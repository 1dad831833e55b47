#!/usr/bin/env python3
"""Launches a form with nothing but the standard library, aborts the job, and says how each step was answered.

Wants: BASE, TOKEN.
"""
import json
import os
import time
import urllib.error
import urllib.request


def call(method, path, body=None, token=os.environ["TOKEN"]):
    request = urllib.request.Request(os.environ["BASE"] + "/api/v2" + path, method=method)
    if token:
        request.add_header("Authorization", "Bearer " + token)
    data = None
    if body is not None:
        request.add_header("Content-Type", "application/json")
        data = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, data) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


status, launched = call("POST", "/job", {"formName": "waits", "rawFormData": {"asked": "by a script"}})
job = "/job/%d" % launched["id"]
steps = {
    "launch": status,
    "payload": call("GET", job)[1]["payload"]["asked"],
    "delete while running": call("DELETE", job)[0],
    "abort": call("POST", job + "/abort"),
}
while call("GET", job)[1]["status"] == "running":
    time.sleep(0.2)
steps["status"] = call("GET", job)[1]["status"]
steps["abort again"] = sorted(call("POST", job + "/abort")[1])
steps["abort of an ended job"] = call("POST", job + "/abort")[0]
steps["no such job"] = call("GET", "/job/999999")[0]
steps["no token"] = call("GET", job, token=None)[0]
steps["no form"] = call("POST", "/job", {"extravars": {}})[0]
steps["no such event"] = [call("GET", job + "/events/" + order)[0] for order in ("x", "999999")]
print(json.dumps(steps))
