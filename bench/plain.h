/* What plainfetch and plainput share: transfers over a fixed number of connections, each taking the next job when it is done. */
#ifndef PLAIN_H
#define PLAIN_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>

struct plain_job { /* the first member of a program's own; CURLOPT_PRIVATE */
    char  *key;
    size_t size, done; /* bytes */
};

/** @p start sets a handle up for the next job and adds it; false: there is none.  @return exit code */
static inline int plain_run(bool (*start)(CURLM *multi, CURL *easy), long connections)
{
    CURLM *multi   = curl_multi_init();
    int    running = 0, left;
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, connections);
    while (running < connections && start(multi, curl_easy_init()))
        running++;
    while (running) {
        curl_multi_perform(multi, &running);
        for (CURLMsg *m; (m = curl_multi_info_read(multi, &left));) {
            CURL             *easy = m->easy_handle;
            struct plain_job *j    = NULL;
            curl_easy_getinfo(easy, CURLINFO_PRIVATE, &j);
            if (m->data.result != CURLE_OK || j->done != j->size)
                return fprintf(stderr, "%s: %s\n", j->key, curl_easy_strerror(m->data.result)), 1;
            curl_multi_remove_handle(multi, easy);
            if (start(multi, easy))
                running = 1;
        }
        if (running)
            curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    return 0;
}

#endif
