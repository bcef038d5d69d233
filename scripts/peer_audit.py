#!/usr/bin/env python3
"""The same comparison done plainly with boto3: list everything, scan everything, keep it, compare.

What `lockshift audit` is measured against. Usage: peer_audit.py BUCKET TABLE [ENDPOINT]
"""
import json
import resource
import sys
import time

import boto3
from botocore.config import Config

bucket, table = sys.argv[1], sys.argv[2]
endpoint = sys.argv[3] if len(sys.argv) > 3 else None
config = Config(s3={"addressing_style": "path"}) if endpoint else Config()
s3 = boto3.client("s3", endpoint_url=endpoint, config=config)
dynamodb = boto3.client("dynamodb", endpoint_url=endpoint)
began, requests = time.monotonic(), 0

objects = {}
for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
    requests += 1
    for found in page.get("Contents", []):
        objects[found["Key"]] = found

items = {}
for page in dynamodb.get_paginator("scan").paginate(TableName=table):
    requests += 1
    for item in page["Items"]:
        items[item["LockID"]["S"]] = item

locks = {}
for key in objects:
    if key.endswith(".tflock"):
        requests += 1
        locks[key] = json.load(s3.get_object(Bucket=bucket, Key=key)["Body"])

split = stale = 0
for key, lock in locks.items():
    item = items.get(f"{bucket}/{key.removesuffix('.tflock')}")
    split += item is None or json.loads(item["Info"]["S"])["ID"] != lock["ID"]
for lock_id, item in items.items():
    path = lock_id.removeprefix(f"{bucket}/").removesuffix("-md5")
    if "Digest" in item and path in objects:
        stale += objects[path]["ETag"].strip('"') != item["Digest"]["S"]

print(f"seconds {time.monotonic() - began:.1f}")
print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss} kB")
print(f"objects {len(objects)}, items {len(items)}, requests {requests}")
print(f"locks {len(locks)}, split {split}, stale digests {stale}")
