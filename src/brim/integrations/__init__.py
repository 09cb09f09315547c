"""Adapters: one module a framework, each of which imports its framework and nobody else does.

Example: from brim.integrations.langchain import BrimMiddleware
"""
