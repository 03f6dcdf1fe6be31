package awslocal

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"bailing/shared/awslocal/dynamodb"
	"bailing/shared/awslocal/fault"
	"bailing/shared/awslocal/s3"
	"bailing/shared/awslocal/sfn"
	"bailing/shared/awslocal/sqs"
	"bailing/shared/awslocal/wal"
	"bailing/shared/clock"
)

// services are the four stand-ins and their logs: one directory each, so that none waits for another's recovery or compaction.
type services struct {
	dynamodb *dynamodb.Service
	sqs      *sqs.Service
	s3       *s3.Service
	sfn      *sfn.Service
	logs     []*wal.Log
}

// open makes the services and, with a directory, replays their logs. After an error, close still has to be called.
func (v *services) open(dir string, clk clock.Clock, faults *fault.Injector, logger *slog.Logger) error {
	dynamodbOptions := dynamodb.Options{Clock: clk, Faults: faults, Logger: logger}
	sqsOptions := sqs.Options{Clock: clk, Faults: faults, Logger: logger}
	s3Options := s3.Options{Clock: clk, Faults: faults, Logger: logger}
	sfnOptions := sfn.Options{Clock: clk, Faults: faults, Logger: logger}
	var dynamodbLog, sqsLog, s3Log, sfnLog *wal.Log
	if dir != "" {
		for _, l := range []struct {
			name string
			log  **wal.Log
		}{{"dynamodb", &dynamodbLog}, {"sqs", &sqsLog}, {"s3", &s3Log}, {"sfn", &sfnLog}} {
			log, err := wal.Open(filepath.Join(dir, l.name), wal.Options{Logger: logger})
			if err != nil {
				return fmt.Errorf("awslocal: %w", err)
			}
			*l.log = log
			v.logs = append(v.logs, log)
		}
		dynamodbOptions.Log, sqsOptions.Log, s3Options.Log, sfnOptions.Log = dynamodbLog, sqsLog, s3Log, sfnLog
		s3Options.Dir = filepath.Join(dir, "s3", "objects")
	}
	v.dynamodb = dynamodb.New(dynamodbOptions)
	v.sqs = sqs.New(sqsOptions)
	v.sfn = sfn.New(sfnOptions)
	var err error
	if v.s3, err = s3.New(s3Options); err != nil {
		return fmt.Errorf("awslocal: %w", err)
	}
	if dir == "" {
		return nil
	}
	err = dynamodbLog.Recover(v.dynamodb.Replay, v.dynamodb.Snapshot)
	if err == nil {
		err = sqsLog.Recover(v.sqs.Replay, v.sqs.Snapshot)
	}
	if err == nil {
		err = s3Log.Recover(v.s3.Replay, v.s3.Snapshot)
	}
	if err == nil {
		err = sfnLog.Recover(v.sfn.Replay, v.sfn.Snapshot)
	}
	if err == nil {
		err = v.s3.Ready()
	}
	if err != nil {
		return fmt.Errorf("awslocal: recover %s: %w", dir, err)
	}
	return nil
}

func (v *services) close() error {
	var errs []error
	for _, l := range v.logs {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
