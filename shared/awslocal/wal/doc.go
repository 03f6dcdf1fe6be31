// Package wal is an append-only log in a directory: what makes a stand-in survive kill -9 with nothing
// acknowledged lost.
//
// # Life of a log
//
//	Open        takes the directory's exclusive lock
//	Recover     replays what the directory holds, then compacts it; only now may records be appended
//	Append      returns when the record is on stable storage
//	Close       flushes, and releases the lock
//
// # Files
//
//	lock                     held with flock(2) while a process uses the directory
//	log-NNNNNNNNNNNNNNNN     records in the order they were written
//	snapshot-N...            the state that all logs with a lower number led to
//
// The state is snapshot-N (the highest) followed by log-N, log-N+1 and so on. A file appears under its name
// only when its beginning (a log) or all of it (a snapshot) is on stable storage.
//
// A record is framed as length, checksum of the payload, checksum of these two, payload. A record that was being
// written when the process died is a prefix of a frame at the end of the last log: it was never acknowledged, and
// recovery cuts it off. Every other damage is reported as a [*CorruptError] and nothing is changed.
//
// # What the owner of the state promises
//
// Compaction starts a new log first, then asks the owner for a snapshot while the new log is in use. Therefore:
//
//   - A snapshot contains every record whose append had been called before the snapshot was asked for.
//   - A record may be replayed onto a state that contains it already. That, followed by the replay of all later
//     records, leads to the same state.
//
// Nothing about the meaning of records lives here.
package wal
