"""Adapters for frameworks, one module each; only that module imports the framework.

Example: from brim.integrations.langchain import BrimMiddleware
"""
