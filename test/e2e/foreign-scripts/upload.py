#!/usr/bin/env python3
"""Uploads a file with nothing but the standard library, launches a form with it, and waits for the end.

Wants: BASE, LOGIN, UPLOAD.
"""
import base64
import json
import os
import time
import urllib.request

base = os.environ["BASE"] + "/api/v2"


def call(method, path, data=None, **headers):
    request = urllib.request.Request(base + path, data, method=method)
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


pair = base64.b64encode(os.environ["LOGIN"].encode()).decode()
token = "Bearer " + call("POST", "/auth/login", b"", Authorization="Basic " + pair)["token"]

boundary = "----a-boundary-of-the-script"
with open(os.environ["UPLOAD"], "rb") as file:
    content = file.read()
head = '--%s\r\nContent-Disposition: form-data; name="file"; filename="package.txt"\r\n' % boundary
body = (head + "Content-Type: text/plain\r\n\r\n").encode() + content + ("\r\n--%s--\r\n" % boundary).encode()
described = call(
    "POST",
    "/job/upload",
    body,
    Authorization=token,
    Content_Type="multipart/form-data; boundary=" + boundary,
)

launch = {"formName": "deploy", "rawFormData": {"region": "us"}, "files": {"package": described}}
job = call("POST", "/job", json.dumps(launch).encode(), Authorization=token, Content_Type="application/json")
while True:
    read = call("GET", "/job/%d?text=true" % job["id"], Authorization=token)
    if read["status"] != "running":
        break
    time.sleep(0.2)
print(read["output"])
print("status: " + read["status"])
