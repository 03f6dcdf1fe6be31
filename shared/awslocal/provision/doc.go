// Package provision creates the topology's tables, queues and bucket on an AWS endpoint: the stand-ins of a test or of the
// local stack, or an emulator. Tables that an earlier release made get the indexes and the expiry that they lack. A
// deployment creates the same from the same topology, with CloudFormation.
package provision
