#!/usr/bin/env bash
# Signs in with a name and a password, uploads a file, launches a form with it, waits for the end, reads the job in every
# way, and deletes it. Wants: BASE, LOGIN (name:password), UPLOAD (a file), DOWNLOADS (a folder).
set -euo pipefail

field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

pair=$(curl -sf --request POST --user "$LOGIN" "$BASE/api/v2/auth/login" --data '')
pair=$(curl -sf --request POST "$BASE/api/v2/token" --header 'Content-Type: application/json' \
  --data "{\"refreshtoken\": \"$(field refreshtoken <<<"$pair")\"}")
auth="Authorization: Bearer $(field token <<<"$pair")"

description=$(curl -sf --header "$auth" --form "file=@$UPLOAD;type=text/plain" "$BASE/api/v2/job/upload")
id=$(curl -sf --header "$auth" --header 'Content-Type: application/json' "$BASE/api/v2/job/" --data '{
  "formName": "deploy",
  "rawFormData": {"region": "eu"},
  "extravars": {"region": "elsewhere", "__verbose__": true},
  "files": {"package": '"$description"'}
}' | field id)

status=running
while [ "$status" = running ]; do
  sleep 0.2
  status=$(curl -sf --header "$auth" "$BASE/api/v2/job/$id" | field status)
done
echo "status: $status"
curl -sf --header "$auth" "$BASE/api/v2/job/$id?text=true" | field output
echo "html: $(curl -sf --header "$auth" "$BASE/api/v2/job/$id" | field output | grep -c '<span')"
(cd "$DOWNLOADS" && curl -sf --remote-name --remote-header-name --header "$auth" "$BASE/api/v2/job/$id/download" && ls)
curl -sf --header "$auth" --get --data records=1 --data user=deployer --data user_type=local "$BASE/api/v2/job" |
  python3 -c 'import json, sys; a = json.load(sys.stdin); print("list:", a["count"], [(r["form"], r["status"], r["user"]) for r in a["records"]])'
last=$(curl -sf --header "$auth" "$BASE/api/v2/job/$id/events" | field count)
echo "recap: $(curl -sf --header "$auth" "$BASE/api/v2/job/$id/events/$last" | field type)"
curl -sf --request DELETE --header "$auth" "$BASE/api/v2/job/$id" | field message
echo "gone: $(curl -s --output /dev/null --write-out '%{http_code}' --header "$auth" "$BASE/api/v2/job/$id")"
