"""consume URL QUEUE: waits for one message and prints every property, sorted, one a line."""
import sys

import pika

connection = pika.BlockingConnection(pika.URLParameters(sys.argv[1]))
channel = connection.channel()
for method, properties, body in channel.consume(sys.argv[2], inactivity_timeout=60):
    if method is None:
        sys.exit("nothing came within 60 s")
    channel.basic_ack(method.delivery_tag)
    print("exchange", method.exchange)
    print("routing_key", method.routing_key)
    for name, value in sorted(vars(properties).items()):
        if name == "headers":
            for key in sorted(value):
                print("header", key, repr(value[key]))
        else:
            print(name, repr(value))
    print("body", repr(body))
    break
channel.cancel()
connection.close()
