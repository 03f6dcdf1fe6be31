// Package store keeps every key, item shape and transaction of the product, and nothing else does: DynamoDB for rows,
// S3 for values that an item cannot hold (architecture §5).
//
// One file per aggregate. Each method is one trip, or says how many; reads are strongly consistent; every state change
// is one conditional write or one transaction, so that a caller which dies before or after it can be repeated.
// Items carry a schema version ("sv"). Nothing here decides: the domain packages declare the interfaces they need and
// judge what they read.
package store
