"""Speech notes: a service that gives raw transcripts punctuation and a summary, in processes of their own."""
