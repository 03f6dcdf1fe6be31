// Package plainjson encodes JSON without the escapes for HTML that encoding/json makes by default. With them raw JSON inside a value
// would come back as other bytes, which hashes and signatures notice, and mark-up would be six times as long.
package plainjson
