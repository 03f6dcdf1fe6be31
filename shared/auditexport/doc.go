// Package auditexport writes audit records out, page by page, as one chain of lines (see package auditchain; core §11.7).
//
// An export is of one job, or of a range of time. A range holds the changes of the configuration and what was found out about tool
// providers within it, and of every job that was launched within it all records, whenever they were made: so a record is in the
// export of exactly one of two adjacent ranges, and the export of a job is never cut in two.
//
// Nothing is scanned. A page reads one partition of the ledger after the other, for jobs by the index of their launches, until it has
// [pageMax] bytes or took [pageTime]; its cursor says where the next one goes on, and with which hash.
//
// What is exported has passed the display rules of core §11.7.
package auditexport
