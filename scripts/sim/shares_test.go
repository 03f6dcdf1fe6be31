package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// reportPrefix begins the lines with which a process tells what it played.
const reportPrefix = "report "

// share plays every n-th seed and reports each schedule as a line.
func share(t *testing.T) {
	var i, n uint64
	if _, err := fmt.Sscanf(*shareFlag, "%d/%d", &i, &n); err != nil {
		t.Fatal(err)
	}
	for seed := *fromFlag + i; seed < *fromFlag+*seedsFlag; seed += n {
		for k := range *schedulesFlag {
			r := play(t, seed, k, Mutant{}, nil)
			if len(r.Failures) == 0 {
				r.Tail = nil
			}
			r.Logs = ""
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Printf("\n%s%s\n", reportPrefix, b) // the testing package may be in the middle of a line
		}
	}
}

// shares plays all seeds in as many processes as there are processors: what is random is the process's.
func shares(t *testing.T) (total Total) {
	n := runtime.GOMAXPROCS(0)
	var mu sync.Mutex
	var all sync.WaitGroup
	began, told := time.Now(), time.Now()
	for i := range n {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSimulation$", "-test.timeout=0", fmt.Sprintf("-share=%d/%d", i, n),
			fmt.Sprintf("-seeds=%d", *seedsFlag), fmt.Sprintf("-from=%d", *fromFlag), fmt.Sprintf("-schedules=%d", *schedulesFlag))
		var errors bytes.Buffer
		cmd.Stderr = &errors
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			lines := bufio.NewScanner(out)
			lines.Buffer(nil, 64<<20)
			var rest []string
			for lines.Scan() {
				text, ok := strings.CutPrefix(lines.Text(), reportPrefix)
				if !ok {
					rest = append(rest, lines.Text())
					continue
				}
				var r Report
				if err := json.Unmarshal([]byte(text), &r); err != nil {
					t.Error(err)
					continue
				}
				mu.Lock()
				total.Add(r)
				r.Print(os.Stdout)
				if time.Since(told) > 5*time.Second {
					told = time.Now()
					fmt.Fprintf(os.Stderr, "%4.0f s: %s\n", time.Since(began).Seconds(), total)
				}
				mu.Unlock()
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("a process ended: %v\n%s\n%s", err, strings.Join(rest, "\n"), errors.String())
			}
		})
	}
	all.Wait()
	if total.Schedules != int(*seedsFlag)**schedulesFlag {
		t.Errorf("%d schedules were played, not %d", total.Schedules, int(*seedsFlag)**schedulesFlag)
	}
	return total
}
