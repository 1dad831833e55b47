#!/usr/bin/env bash
# Signs in as the documentation of AnsibleForms shows it, launches a form, and follows the job in a loop: each line of
# its output is printed once, when it comes. Wants: BASE, LOGIN (name:password), GATES (a folder).
set -euo pipefail

field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

token=$(curl -sf -X POST "$BASE/api/v2/auth/login" -u "$LOGIN" -d expiryDays=90 | field token)
auth="Authorization: Bearer $token"
id=$(curl -sf -X POST "$BASE/api/v2/job" -H "$auth" -H 'Content-Type: application/json' \
  -d "{\"formName\": \"parts\", \"rawFormData\": {\"gates\": \"$GATES\"}}" | field id)

seen=0
status=running
while [ "$status" = running ]; do
  sleep 0.2
  job=$(curl -sf -H "$auth" "$BASE/api/v2/job/$id?text=true")
  status=$(field status <<<"$job")
  output=$(field output <<<"$job")
  printf '%s\n' "$output" | tail -n "+$((seen + 1))"
  seen=$(printf '%s\n' "$output" | wc -l)
done
echo "status: $status"
