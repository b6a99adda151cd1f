"""publish URL: one message with every property and every type of header, to exchange orders."""
import datetime
import decimal
import sys

import pika

connection = pika.BlockingConnection(pika.URLParameters(sys.argv[1]))
channel = connection.channel()
channel.confirm_delivery()
properties = pika.BasicProperties(
    content_type="application/json", content_encoding="utf-8", delivery_mode=2, priority=7, correlation_id="c-1", reply_to="answers",
    expiration="600000", message_id="m-1", timestamp=1700000000, type="order.created", app_id="shop", user_id="guest", cluster_id="shard-3",
    headers={
        "string": "käse", "bytes": b"\x00\xff", "true": True, "false": False, "int": -5, "long": 1 << 40, "decimal": decimal.Decimal("3.14"),
        "time": datetime.datetime(2026, 1, 2, 3, 4, 5), "none": None, "array": [1, "two", [3, None]], "table": {"a": {"b": "c"}}, "empty": {},
    })
channel.basic_publish("orders", "orders.new", b"\x00body\xff", properties, mandatory=True)
connection.close()
