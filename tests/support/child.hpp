// Runs work in its own process: for limits that cannot be undone, and for work that may crash.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <string>

namespace headroom::test {

/// Runs `work` in a child; what it returns, or how the child ended.
inline std::string in_child(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    alarm(600);  // only against hanging: under a sanitizer, beside other tests, 60 s were too few
    std::string text;
    try {
      text = work();
    } catch (const std::exception& error) {
      text = std::string("threw: ") + error.what();
    }
    const bool written = write(ends[1], text.data(), text.size()) >= 0;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t size = 0; (size = read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(size));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) text += " (the child ended with status " + std::to_string(status) + ")";
  return text;
}

}  // namespace headroom::test
