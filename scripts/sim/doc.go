// Package sim is the fault simulator: the whole product in one process, on a clock that jumps, while everything breaks that can. It
// checks the promises I1 to I7, I9 and I10 of the architecture.
//
//	make sim SEEDS=200     play seeds 1 to 200, a few schedules each
//	make sim SEED=17       play one seed again, exactly; TRACE=1 prints every step
//
// # A schedule
//
// A seed has a few schedules, each with another mix of faults. A schedule configures a fresh product through its own API, draws
// clients, routes, businesses and jobs, and then lets things happen for some minutes with faults, and without them until everything has
// come to rest. What came of it is judged from outside: by what businesses, receivers and people saw, and by the rows and objects that
// are left.
//
// # How order is decided
//
// A schedule runs in a bubble of testing/synctest: nobody's clock moves while anybody can do something. Every request to AWS, every
// connection and every arrival of a request at a business is a step, which parks in [schedule] until nothing else moves. Then the
// seed picks one of the parked steps, or the next event of the world, and decides what goes wrong with it. Steps are ordered by what they
// are, not by which goroutine came first; ids and jitter come from the seeded generator of crypto/rand. So a seed gives the same
// trace each time, and the trace's hash is compared by a test.
//
// # What goes wrong
//
//   - A process dies before a step, or after the step took effect. What it would still do reaches nobody. Its message comes again.
//   - DynamoDB, S3, SQS and Step Functions throttle, conflict, fail before or after they did what was asked; requests and answers get
//     lost, or are late.
//   - Messages are lost, come twice, come late, and come for jobs that nobody should take.
//   - Clocks differ, jump ahead, and let sweepers take living workers for dead.
//   - Businesses, receivers and the model are slow, refuse, answer half or nonsense, redirect to a trap, or are gone.
//   - People decide early, late, twice, and against each other; administrators pause, disable, rerun, replay, close, and change what tools are for.
//
// # Rooms
//
//	schedule.go trace.go mix.go run.go report.go   order, faults, and what is printed
//	world.go process.go aws.go network.go          the product's surroundings: processes, AWS, connections
//	sources.go                                     queues and the schedule
//	setup.go people.go operators.go approvals.go   configuration, clients, administrators, those who decide
//	servers.go script.go                           businesses, receivers, the model
//	checks.go                                      the promises
//	mutant.go                                      guards that are removed on the wire, to prove that the simulator sees it
//
// The program is a test binary, since bubbles and seeded generators exist in tests only.
package sim
