"""The planner's rules, in the order in which they apply: fixed, context, users_words, newest, rest, last_count."""
