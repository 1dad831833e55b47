#!/usr/bin/env bash
# Follows a job by the event stream alone: it reads the job again whenever it hears that jobs changed, and says each new
# state of it once. Wants: BASE, TOKEN, JOB.
set -euo pipefail

auth="Authorization: Bearer $TOKEN"
before=''
curl -sfN --header "$auth" "$BASE/api/v2/events" | while read -r line; do
  case "$line" in
    'event: hello') echo listening ;;
    'data: {"name":"jobs"}')
      job=$(curl -sf --header "$auth" "$BASE/api/v2/job/$JOB?text=true")
      now=$(python3 -c '
import json, re, sys
job = json.load(sys.stdin)
print(job["status"], *sorted(set(re.findall(r"part \d said", job["output"]))))' <<<"$job")
      [ "$now" = "$before" ] || echo "$now"
      before=$now
      case "$now" in running*) ;; *) break ;; esac
      ;;
  esac
done || true
