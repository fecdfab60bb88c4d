// Whether a sanitizer watches this build. It takes more address space than any limit leaves, and
// some twenty times the time.
#pragma once

namespace headroom::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace headroom::test
