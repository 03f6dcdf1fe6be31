// Package s3 is a strict stand-in for the part of Amazon S3 that the product uses, over path-style REST, for tests and
// the local stack. Unmodified aws-sdk-go-v2 clients use it, with UsePathStyle. What it does not implement it refuses with an
// error that names it.
//
// # What is here
//
// CreateBucket, HeadBucket, PutObject (with If-None-Match: *), GetObject (with one byte range), HeadObject, DeleteObject.
// Content type and the other standard content headers, user metadata, MD5 ETags, checksums in a header or in the trailer of an
// aws-chunked body. No listing, multipart uploads, versions, access control, tags, encryption headers or presigned addresses.
//
// # Limits
//
// An object holds 64 MiB, a key 1024 bytes, user metadata 2 KiB.
//
// # Durability
//
// With a directory, the bytes of an object are a file that is complete and on stable storage before the journal names it, and
// a put or delete is acknowledged when the journal has it on stable storage. Every put writes a file of its own, so a reader
// sees one version from beginning to end. Files that no record names, left by a process that was killed, are removed when the
// service starts. Without a directory everything is in memory.
package s3
