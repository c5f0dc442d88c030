//! The command line as its users meet it: as a process, against the embedded broker over TCP. `fNNN` names a field report.
