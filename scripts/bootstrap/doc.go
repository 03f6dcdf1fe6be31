// Command bootstrap proves that the functions run as Lambda would run them: `make bootstrap` (architecture §4).
//
// It builds every function of the topology twice, with the flags of a deployment. The programs for linux/arm64 are the ones
// that a deployment uploads: their ELF headers are checked and their archives measured. The programs for this machine run
// behind a Runtime API (package runtimeapi): their time from start to first poll is measured beside that of a function
// that does nothing, and the whole demo runs through them.
//
// Each promise is a gate. The last line counts them, and the exit status is 0 only when all of them hold. Times are compared with the bare
// function's, because absolute ones say more about the machine than about the product.
package main
