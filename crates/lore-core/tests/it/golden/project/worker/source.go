package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// ErrNoJobs says that nothing is waiting.
var ErrNoJobs = errors.New("no jobs are waiting")

// Job is what the server hands out.
type Job struct {
	ID      int64  `json:"id"`
	Kind    string `json:"kind"`
	Payload string `json:"payload"`
}

// Source gets jobs from the server over HTTP.
type Source struct {
	server string
	token  string
	client http.Client
}

// NewSource prepares a source; the server is asked first by Next.
func NewSource(server, token string) *Source {
	return &Source{server: server, token: token}
}

// Next leases a job, or gives ErrNoJobs.
func (s *Source) Next(ctx context.Context) (Job, error) {
	var job Job
	response, err := s.post(ctx, "/jobs/lease")
	if err != nil {
		return job, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return job, json.NewDecoder(response.Body).Decode(&job)
	case http.StatusNoContent:
		return job, ErrNoJobs
	default:
		return job, fmt.Errorf("the server said %s", response.Status)
	}
}

// Ack tells the server that a job is done.
func (s *Source) Ack(ctx context.Context, job Job) error {
	response, err := s.post(ctx, fmt.Sprintf("/jobs/%d/ack", job.ID))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusConflict {
		return errors.New("lease expired before ack")
	}
	return nil
}

func (s *Source) post(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.server+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	return s.client.Do(request)
}
