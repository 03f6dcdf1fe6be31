// Package attr holds DynamoDB's attribute values: the ten types, exact decimal numbers, equality and order, size in
// bytes as DynamoDB counts it, and three encodings.
//
//   - Wire: the JSON form of requests and answers, for example {"N":"1.5"} ([FromWire], [AppendWire]).
//   - Binary: the compact form of the journal ([AppendBinary], [DecodeBinary]); the same value always gives the same
//     bytes.
//   - Key: an order-preserving byte string of one key attribute ([AppendKey]), so that every index of the stand-in is one
//     sorted sequence of strings.
//
// Promises: values are immutable once built, so they may be shared between goroutines and between an item's old and new
// version; a [Number] is exact to 38 significant digits and never passes through a float; what DynamoDB refuses as a
// value (empty or repeating set members, 39 digits, 33 levels of nesting) cannot be built by the decoders.
//
// Nothing here knows tables, expressions or HTTP.
package attr
