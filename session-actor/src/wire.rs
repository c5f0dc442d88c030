//! What goes over a broker connection: frames, requests, responses, and the checks that make both safe.
