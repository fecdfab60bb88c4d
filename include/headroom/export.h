/** @file
 * Marks what the shared libraries export. Everything else is hidden.
 */
#ifndef HEADROOM_EXPORT_H
#define HEADROOM_EXPORT_H

/* The CMake targets and the pkg-config files of a static copy define HEADROOM_STATIC. */
#if defined(HEADROOM_STATIC) || !defined(__GNUC__)
#define HEADROOM_API
#else
#define HEADROOM_API __attribute__((visibility("default")))
#endif

#endif
