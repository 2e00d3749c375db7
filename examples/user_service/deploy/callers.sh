#!/bin/sh
# Some callers of a running service: reads of a few users by many, and a write now and then.
#
#     examples/user_service/deploy/callers.sh http://127.0.0.1:3000
set -eu
service=${1:?the address of the service, as http://127.0.0.1:3000}
round=0
while true; do
  round=$((round + 1))
  for n in 1 2 3 4 5 6 7 8 9 10; do
    for path in "users/$n" users/1 users; do
      curl -s -o /dev/null "$service/$path" &
    done
  done
  # Refused as a double from the second round on.
  curl -s -o /dev/null --json "{\"name\":\"user $((round % 10))\",\"email\":\"$((round % 10))@example.org\"}" "$service/users"
  if [ $((round % 20)) -eq 0 ]; then
    curl -s -o /dev/null -X PUT --json "{\"name\":\"renamed $round\"}" "$service/users/1"
  fi
  wait
  sleep 0.1
done
