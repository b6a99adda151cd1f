// Package amqpwire is the part of AMQP 0-9-1's bytes that has to pass unchanged or cheaply: the properties of a
// message, which are scanned and spliced but never decoded, and the frames of deliveries, publishes and their answers.
//
// A message's properties are the end of its content header (specification 4.2.6.1), all integers big endian:
//
//	 0        2        4                 12       14
//	+--------+--------+-----------------+--------+----------------+
//	| class  | weight | body size       | flags  | property list  |
//	| 60     | 0      | u64             | u16    |                |
//	+--------+--------+-----------------+--------+----------------+
//	                                    |<----- "raw" here ------>|
//
// The list holds, in this order, the properties whose flag is set:
//
//	bit 15 content-type      short string     bit 8 expiration  short string
//	bit 14 content-encoding  short string     bit 7 message-id  short string
//	bit 13 headers           table            bit 6 timestamp   8 bytes
//	bit 12 delivery-mode     1 byte           bit 5 type        short string
//	bit 11 priority          1 byte           bit 4 user-id     short string
//	bit 10 correlation-id    short string     bit 3 app-id      short string
//	bit  9 reply-to          short string     bit 2 cluster-id  short string
//
// Bit 1 means nothing and passes. Bit 0 announces a second word of flags, which no broker takes: malformed. Bytes after
// the last property pass. A short string is a length byte and bytes. A table is a u32 length and fields; a field is a
// short string (its name), a type byte and a value:
//
//	t b B     1 byte                    S x    u32 length and bytes
//	s u U     2 bytes                   A      u32 length and values (type byte and value each)
//	I i f     4 bytes                   F      a table
//	l L d T   8 bytes                   D      5 bytes
//	V         nothing
//
// These are the types of RabbitMQ (its errata to 0-9-1), where s is a 16-bit number, plus U. Names may repeat, tables
// may nest as deep as they like, strings need not be UTF-8: nothing of this is looked at but what the router has to
// know. Read first: Read, then Append.
package amqpwire
