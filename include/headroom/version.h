/** @file
 * The version of the headers.
 */
#ifndef HEADROOM_VERSION_H
#define HEADROOM_VERSION_H

#define HEADROOM_VERSION_MAJOR 0
#define HEADROOM_VERSION_MINOR 1
#define HEADROOM_VERSION_PATCH 0
#define HEADROOM_VERSION "0.1.0"

#endif
