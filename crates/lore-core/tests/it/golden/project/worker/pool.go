package main

import (
	"context"
	"errors"
	"log"
	"sync"
	"time"
)

// Handler does the work of one kind of job.
type Handler func(ctx context.Context, job Job) error

// Pool runs a fixed number of goroutines that each take one job after another.
type Pool struct {
	size     int
	source   *Source
	handlers map[string]Handler
	running  sync.WaitGroup
}

// NewPool prepares a pool; nothing runs before Run.
func NewPool(size int, source *Source, handlers map[string]Handler) *Pool {
	return &Pool{size: size, source: source, handlers: handlers}
}

// Run works until the context ends, then waits for the jobs in hand.
func (p *Pool) Run(ctx context.Context) {
	for i := 0; i < p.size; i++ {
		p.running.Add(1)
		go func() {
			defer p.running.Done()
			p.loop(ctx)
		}()
	}
	p.running.Wait()
}

func (p *Pool) loop(ctx context.Context) {
	for ctx.Err() == nil {
		job, err := p.source.Next(ctx)
		if errors.Is(err, ErrNoJobs) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			continue
		}
		if err != nil {
			log.Printf("cannot get a job: %v", err)
			continue
		}
		p.handle(ctx, job)
	}
}

// handle runs one job, again and again if it fails, and tells the server how it went.
func (p *Pool) handle(ctx context.Context, job Job) {
	handler, known := p.handlers[job.Kind]
	if !known {
		log.Printf("job %d is of unknown kind %q", job.ID, job.Kind)
		return
	}
	err := Retry(ctx, DefaultBackoff, func() error { return handler(ctx, job) })
	if err != nil {
		log.Printf("job %d failed for good: %v", job.ID, err)
		return
	}
	if err := p.source.Ack(ctx, job); err != nil {
		log.Printf("job %d was done but not acknowledged: %v", job.ID, err)
	}
}
